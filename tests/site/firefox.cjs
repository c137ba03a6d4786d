// Playwright 1.65 asks every browser for "emulation.setMediaFeaturesOverride" before it opens a
// page, and gives up where that is unknown, as in Firefox ESR 153. Loaded into Playwright's node,
// this takes that one answer, "unknown command", as if nothing had been asked; so nothing is
// emulated. To be removed once Debian's Firefox knows the command.
const { parse } = JSON;
JSON.parse = (...text) => {
  const said = parse(...text);
  const unknown = said?.error === "unknown command" && said.message;
  if (!unknown || !unknown.includes("emulation.setMediaFeaturesOverride")) return said;
  return { type: "success", id: said.id, result: {} };
};
