// Playwright 1.65 asks every browser for "emulation.setMediaFeaturesOverride" and gives up where it
// is unknown, as in Firefox ESR 153. Loaded into Playwright's node, this takes that one answer, "unknown
// command", as if nothing had been asked: so no colour scheme is emulated. To be removed when Debian's
// Firefox knows the command.
const { parse } = JSON;
JSON.parse = (...text) => {
  const said = parse(...text);
  if (said?.error !== "unknown command" || !said.message?.includes("emulation.setMediaFeaturesOverride")) return said;
  return { type: "success", id: said.id, result: {} };
};
