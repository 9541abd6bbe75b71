/** What the reference of an image says about when to pull it. */

/** `Always` where the tag is `latest` or there is neither tag nor digest, otherwise `IfNotPresent`. */
export const pullPolicy = (reference: string): "Always" | "IfNotPresent" => {
  if (reference === "" || /@[A-Za-z][A-Za-z0-9]*:/.test(reference)) return "IfNotPresent"
  const last = reference.slice(reference.lastIndexOf("/") + 1)
  const colon = last.indexOf(":")
  return colon < 0 || last.slice(colon + 1) === "latest" ? "Always" : "IfNotPresent"
}
