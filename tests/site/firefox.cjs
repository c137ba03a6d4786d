// Loaded into Playwright's node, this changes two things that Firefox ESR 153 says. To be removed
// once Debian's Firefox says them otherwise.
//
// Playwright 1.65 asks every browser for "emulation.setMediaFeaturesOverride" before it opens a
// page, and gives up where that is unknown. The answer "unknown command" is taken as if nothing had
// been asked; so nothing is emulated.
//
// A download after a click has no name of its own, and Playwright passes over it: the address does
// for one.
const { parse } = JSON;
JSON.parse = (...text) => {
  const said = parse(...text);
  if (said?.method?.startsWith?.("browsingContext.download")) {
    said.params.navigation ??= said.params.url;
  }
  const unknown = said?.error === "unknown command" && said.message;
  if (!unknown || !unknown.includes("emulation.setMediaFeaturesOverride")) return said;
  return { type: "success", id: said.id, result: {} };
};
