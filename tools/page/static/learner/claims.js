// The ledger: shows the rows that have every chosen verdict, document and chapter.
(() => {
  const bar = document.querySelector(".ledger-filter");
  const rows = [...document.querySelectorAll(".ledger tr[id]")];
  const choices = [...bar.querySelectorAll("select")];

  const show = () => {
    const names = choices.map((choice) => choice.value).filter(Boolean);
    for (const row of rows) row.hidden = !names.every((name) => row.classList.contains(name));
    const left = rows.filter((row) => !row.hidden).length;
    bar.querySelector("output").textContent = `${left} of ${rows.length} claims`;
  };
  // A link to a row shows it, whatever was chosen; so does a page that the browser has kept.
  const reach = () => {
    const row = document.getElementById(location.hash.slice(1));
    if (!row?.hidden) return;
    for (const choice of choices) choice.value = "";
    show();
    row.scrollIntoView();
  };
  bar.addEventListener("change", show);
  addEventListener("hashchange", reach);
  show();
  reach();
})();
