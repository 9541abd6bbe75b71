/** Chooses one of several formats by a request's `Accept` header: media types, some with a version, weighted by q. */

/** A format that the server offers. */
export interface Offer {
  /** `text/plain` */
  readonly mediaType: string
  /** Its `version` parameter. A range without a version matches any version. */
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

/** How closely a range matches an offer: from 0 for any media type to 3 for type and version; below 0 if it does not match. */
const closeness = (range: Range, offer: Offer): number => {
  if (range.version !== undefined && range.version !== offer.version) return -1
  if (range.mediaType === offer.mediaType) return range.version === undefined ? 2 : 3
  if (range.mediaType === `${offer.mediaType.split("/")[0]}/*`) return 1
  return range.mediaType === "*/*" ? 0 : -1
}

/**
 * The preferred offer. Among equal weights, an offer that the header names precedes one that a star covers, and then the first offer
 * wins. Without a header or a match the result is the first offer, because a page in another format is more useful than an error.
 */
export const preferred = <O extends Offer>(header: string | null, offers: readonly [O, ...ReadonlyArray<O>]): O => {
  const ranges = (header ?? "*/*").split(",").map(rangeOf)
  let best: O = offers[0]
  let bestQuality = 0
  let bestNamed = false
  for (const offer of offers) {
    let closest = -1
    let quality = 0
    // The closest range decides the weight of an offer.
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
