// What scrolls sideways can be reached by keyboard: equations, tables and code get a tab stop while
// they are wider than their box. Boxes in a closed fold have no size yet, hence the observer.
const boxes = "article pre, .scroll-x, .pst-scrollable-table-container";

// The theme button says which of its three states is on.
const modes = { light: "light", dark: "dark", auto: "as the system has them" };

addEventListener("DOMContentLoaded", () => {
  const sized = new ResizeObserver((entries) => {
    for (const { target: box } of entries) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(boxes).forEach((box) => sized.observe(box));

  const root = document.documentElement;
  const say = () => {
    const label = `Colours: ${modes[root.dataset.mode] ?? modes.auto}`;
    for (const button of document.querySelectorAll(".theme-switch-button")) {
      button.title = label;
      button.setAttribute("aria-label", label);
    }
  };
  new MutationObserver(say).observe(root, { attributeFilter: ["data-mode"] });
  say();
});
