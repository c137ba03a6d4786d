// A button that goes on while it is held down.

import { h } from "./dom.js";

// step() is called for a press, and every ms while the button is held; it returns false at an end,
// where the button stops. By keyboard: Enter or the space bar.
export function hold(step, ms) {
  let timer;
  const stop = () => clearInterval(timer);
  const press = () => {
    stop();
    step();
    timer = setInterval(() => step() === false && stop(), ms);
  };
  return h("button", {
    ...{ type: "button", class: "ae-next", onpointerup: stop, onpointercancel: stop, onblur: stop },
    ...{ onpointerleave: stop, onkeyup: stop, oncontextmenu: (event) => event.preventDefault() },
    onpointerdown: (event) => event.button === 0 && press(),
    // A click that no pointer made and no key below: from assistive technology.
    onclick: (event) => event.detail === 0 && step(),
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      if (!event.repeat) press();
    },
  });
}
