// Runs before the terminal's own script, and keeps it within the page's Content-Security-Policy.
"use strict";
(() => {
  // Styles that the terminal makes carry the nonce that the policy asks for.
  const nonce = document.currentScript.nonce;
  const create = Document.prototype.createElement;
  document.createElement = function (name, options) {
    const element = create.call(document, name, options);
    if (String(name).toLowerCase() === "style") element.nonce = nonce;
    return element;
  };
  // Links in what agents wrote are shown, never opened.
  window.open = () => null;
  document.addEventListener("DOMContentLoaded", () => {
    const terminal = document.getElementById("terminal");
    const scheme = location.protocol === "https:" ? "wss://" : "ws://";
    terminal.dataset.sessionWebsocketUrl = scheme + location.host + "/ws/" + terminal.dataset.ticket;
    new MutationObserver(loaded).observe(document.body, { attributeFilter: ["class"] });
    document.getElementById("again").addEventListener("click", () => location.reload());
  });
  // What is around the terminal's cells has their colour: the session says which, and says it again when it changes.
  const dress = (paper) => {
    const parts = paper.match(/\d+/g);
    if (!parts) return;
    document.documentElement.style.setProperty("--paper", paper);
    document.documentElement.classList.toggle("light", parts.slice(0, 3).reduce((sum, part) => sum + Number(part), 0) > 384);
  };
  let viewport = null;
  const loaded = () => {
    focus();
    const found = document.querySelector(".xterm-viewport");
    if (!found || found === viewport) return;
    viewport = found;
    new MutationObserver(() => dress(viewport.style.backgroundColor)).observe(viewport, { attributeFilter: ["style"] });
  };
  // Keys go to the terminal as soon as it is connected, and again when the tab is come back to.
  const focus = () => {
    if (document.body.classList.contains("-loaded")) document.querySelector(".xterm-helper-textarea")?.focus();
  };
  window.addEventListener("focus", focus);
})();
