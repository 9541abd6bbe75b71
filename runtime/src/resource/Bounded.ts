/** Maps that keep the latest entries. */

/**
 * Sets an entry as the latest one of a map. Above `most` entries it removes the oldest eighth, at least one. One at a time would cost
 * 20 µs in a map of 10,000, because the engine scans the slots of removed entries.
 */
export const put = <K, V>(map: Map<K, V>, key: K, value: V, most: number): void => {
  map.delete(key)
  map.set(key, value)
  if (map.size <= most) return
  const kept = most - Math.max(0, Math.floor(most / 8) - 1)
  for (const oldest of map.keys()) {
    map.delete(oldest)
    if (map.size <= kept) return
  }
}
