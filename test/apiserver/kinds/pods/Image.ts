/** The default pull policy of an image reference. */

/** Returns `Always` for the tag `latest`, and for a reference without tag and digest. Otherwise `IfNotPresent`. */
export const pullPolicy = (reference: string): "Always" | "IfNotPresent" => {
  if (reference === "" || /@[A-Za-z][A-Za-z0-9]*:/.test(reference)) return "IfNotPresent"
  const last = reference.slice(reference.lastIndexOf("/") + 1)
  const colon = last.indexOf(":")
  return colon < 0 || last.slice(colon + 1) === "latest" ? "Always" : "IfNotPresent"
}
