// What scrolls sideways can be reached by keyboard: equations, tables and code get a tab stop while
// they are wider than their box. Boxes in a closed fold have no size yet, hence the observer.
const boxes = "article pre, .scroll-x, .cell_output > .output, .pst-scrollable-table-container";

// The theme button says which of its three states is on.
const modes = { light: "light", dark: "dark", auto: "as the system has them" };

// Parts are laid out when they come near (course.css), and a browser may restore a place in pixels
// before they have their heights. So what was read comes back to where it stood.
function keepPlace() {
  const key = `read in ${location.pathname}`;
  const parts = [...document.querySelectorAll(".bd-article > section > section")];
  const blocks = parts.flatMap((part) => [...part.children]);
  const top = (e) => e.getBoundingClientRect().top;
  const read = (all) => all.find((e) => e.getBoundingClientRect().bottom > 80);
  addEventListener("pagehide", () => {
    const block = read([...(read(parts)?.children ?? [])]);
    const place = JSON.stringify(block ? [blocks.indexOf(block), top(block)] : []);
    try { sessionStorage.setItem(key, place); } catch { /* blocked or full */ }
  });
  addEventListener("load", () => {
    const [{ type }] = performance.getEntriesByType("navigation");
    let place = null;
    try { place = sessionStorage.getItem(key); } catch { /* blocked */ }
    const [at, stood] = JSON.parse(place ?? "[]");
    if (type === "navigate" || !scrollY || !blocks[at]) return;
    let until = performance.now() + 300;
    for (const kind of ["wheel", "touchstart", "keydown"]) {
      addEventListener(kind, () => { until = 0; }, { once: true, passive: true });
    }
    const follow = () => {
      const off = top(blocks[at]) - stood;
      if (Math.abs(off) > 1) scrollBy({ top: off, behavior: "instant" });
      if (performance.now() < until) requestAnimationFrame(follow);
    };
    follow();
  });
}

addEventListener("DOMContentLoaded", () => {
  const sized = new ResizeObserver((entries) => {
    // First look at all, then change: each change before a look would cost another layout.
    const wide = entries.map(({ target: box }) => box.scrollWidth > box.clientWidth);
    entries.forEach(({ target: box }, i) => {
      if (wide[i]) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  });
  document.querySelectorAll(boxes).forEach((box) => sized.observe(box));

  keepPlace();

  // The source of a given number stays within the window, and goes with the Escape key.
  const keepInside = ({ target }) => {
    const number = target.closest?.(".given"), source = number?.querySelector(".given-source");
    if (!source) return;
    number.style.removeProperty("--given-shift");
    const beyond = source.getBoundingClientRect().right - document.documentElement.clientWidth + 8;
    if (beyond > 0) number.style.setProperty("--given-shift", `${-beyond}px`);
  };
  addEventListener("pointerover", keepInside);
  addEventListener("focusin", keepInside);
  addEventListener("keydown", ({ key }) => {
    if (key === "Escape") document.activeElement?.closest(".given")?.blur();
  });

  // Paper is white, whatever the screen is.
  const root = document.documentElement;
  let theme = null;
  const onPaper = (now) => {
    if (now && !theme) {
      theme = root.dataset.theme;
      root.dataset.theme = "light";
      document.dispatchEvent(new CustomEvent("to-paper"));
    } else if (!now && theme) {
      root.dataset.theme = theme;
      theme = null;
      document.dispatchEvent(new CustomEvent("from-paper"));
    }
  };
  addEventListener("beforeprint", () => onPaper(true));
  addEventListener("afterprint", () => onPaper(false));
  matchMedia("print").addEventListener("change", (media) => onPaper(media.matches));

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
