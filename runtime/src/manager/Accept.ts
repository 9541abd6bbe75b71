/**
 * Which of several formats a reader would like best, by what it says in `Accept`: media types, some with a version, weighted by q.
 */

/** A format that can be had. */
export interface Offer {
  /** `text/plain` */
  readonly mediaType: string
  /** Its `version` parameter. One who names the type alone takes any. */
  readonly version: string
}

interface Range {
  readonly mediaType: string
  readonly version: string | undefined
  readonly quality: number
}

const rangeOf = (text: string): Range => {
  const [mediaType = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase())
  const value = (name: string): string | undefined =>
    parameters
      .find((parameter) => parameter.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll('"', "")
  const quality = Number(value("q") ?? 1)
  return { mediaType, version: value("version"), quality: Number.isNaN(quality) ? 1 : quality }
}

/** How closely a range names an offer: from 0 for any type whatever, to 3 for type and version; below 0 if it does not. */
const closeness = (range: Range, offer: Offer): number => {
  if (range.version !== undefined && range.version !== offer.version) return -1
  if (range.mediaType === offer.mediaType) return range.version === undefined ? 2 : 3
  if (range.mediaType === `${offer.mediaType.split("/")[0]}/*`) return 1
  return range.mediaType === "*/*" ? 0 : -1
}

/**
 * The offer that is liked best. Of what is liked as much, what is named and not only covered by a star, and then the first. The
 * first, too, for who says nothing or likes none: a page in the wrong format is more use than a refusal.
 */
export const preferred = <O extends Offer>(header: string | null, offers: readonly [O, ...ReadonlyArray<O>]): O => {
  const ranges = (header ?? "*/*").split(",").map(rangeOf)
  let best: O = offers[0]
  let bestQuality = 0
  let bestNamed = false
  for (const offer of offers) {
    let closest = -1
    let quality = 0
    // What names an offer more closely has the say on it, whatever else covers it.
    for (const range of ranges) {
      const close = closeness(range, offer)
      if (close < 0 || close < closest || (close === closest && range.quality <= quality)) continue
      closest = close
      quality = range.quality
    }
    const named = closest >= 2
    if (quality > bestQuality || (quality > 0 && quality === bestQuality && named && !bestNamed)) {
      best = offer
      bestQuality = quality
      bestNamed = named
    }
  }
  return best
}
