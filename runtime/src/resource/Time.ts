/** Points in time as Kubernetes writes them. Milliseconds are those of the Clock, since 1970. */

/** RFC 3339 with whole seconds, as `metav1.Time`: `2026-11-20T09:00:00Z`. */
export const seconds = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19)}Z`

/** RFC 3339 with six digits of a second, as `metav1.MicroTime`: `2026-11-20T09:00:00.250000Z`. */
export const micros = (millis: number): string => new Date(millis).toISOString().replace("Z", "000Z")
