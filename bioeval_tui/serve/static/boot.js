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
    new MutationObserver(focus).observe(document.body, { attributeFilter: ["class"] });
    document.getElementById("again").addEventListener("click", () => location.reload());
  });
  // Keys go to the terminal as soon as it is connected, and again when the tab is come back to.
  const focus = () => {
    if (document.body.classList.contains("-loaded")) document.querySelector(".xterm-helper-textarea")?.focus();
  };
  window.addEventListener("focus", focus);
})();
