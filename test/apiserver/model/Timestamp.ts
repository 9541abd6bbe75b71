/**
 * Formats times as Kubernetes does.
 */

/** Formats milliseconds since 1970 with the precision of a second: `2026-01-02T03:04:05Z`. */
export const timestamp = (millis: number): string => new Date(millis).toISOString().replace(/\.\d+Z$/, "Z")
