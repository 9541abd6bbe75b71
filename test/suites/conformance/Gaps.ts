/**
 * What the embedded server is known not to do as a kube-apiserver does. Each of these cases is run all the same, and one that
 * passes fails the run: the list never says more than is true.
 */

/** The reasons, by the number of the case. */
export const gaps: ReadonlyMap<number, string> = new Map([
  [116, "it converts nothing but the apiVersion: a definition with a conversion webhook is refused"]
])
