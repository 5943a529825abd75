"use strict";
// Plays the frames of a screen. A frame is [seconds, marker, [[row, [[class, text], …]], …]]; rows not named stay as they were.
const frames = JSON.parse(document.getElementById("frames").textContent);
const screen = document.getElementById("screen");
const place = document.getElementById("place");
const button = document.getElementById("play");
const select = document.getElementById("marker");
const end = frames[frames.length - 1][0] + 4;
const markers = frames.map((frame, at) => at).filter((at) => frames[at][1]);
const rows = [];
let shown = -1, now = 0, playing = false, last = 0;

function draw(changes) {
  for (const [row, pieces] of changes) {
    while (rows.length <= row) rows.push(screen.appendChild(document.createElement("div")));
    rows[row].replaceChildren(...pieces.map(([name, text]) => {
      const piece = document.createElement("span");
      piece.className = name;
      piece.textContent = text;
      return piece;
    }));
  }
}

function show(seconds) {
  now = Math.max(0, Math.min(end, seconds));
  let wanted = 0;
  while (wanted + 1 < frames.length && frames[wanted + 1][0] <= now) wanted += 1;
  if (wanted < shown) shown = -1;
  for (; shown < wanted; shown += 1) draw(frames[shown + 1][2]);
  place.value = now;
  const passed = markers.filter((at) => frames[at][0] <= now);
  select.value = String(passed.length ? passed[passed.length - 1] : markers[0]);
}

function play(on) {
  playing = on;
  button.textContent = on ? "Pause" : "Play";
  if (on && now >= end) show(0);
  if (on) { last = performance.now(); requestAnimationFrame(tick); }
}

function tick(at) {
  if (!playing) return;
  show(now + (at - last) / 1000);
  last = at;
  if (now >= end) play(false); else requestAnimationFrame(tick);
}

function turn(by) {
  const places = markers.map((at) => frames[at][0]);
  const next = by > 0 ? places.find((at) => at > now + 0.01) : places.filter((at) => at < now - 0.01).pop();
  play(false);
  show(next === undefined ? (by > 0 ? end : 0) : next);
}

for (const at of markers) select.append(new Option(frames[at][1], String(at)));
place.max = end;
place.addEventListener("input", () => { play(false); show(Number(place.value)); });
select.addEventListener("change", () => { play(false); show(frames[Number(select.value)][0]); });
button.addEventListener("click", () => play(!playing));
document.addEventListener("keydown", (event) => {
  const keys = { " ": () => play(!playing), ArrowRight: () => turn(1), ArrowLeft: () => turn(-1), Home: () => show(0), End: () => show(end) };
  const other = event.ctrlKey || event.altKey || event.metaKey || event.target === select;
  if (keys[event.key] && !other) { event.preventDefault(); keys[event.key](); }
});
show(0);
if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
