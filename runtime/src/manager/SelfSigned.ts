/**
 * A self-signed certificate, for a TLS port without a certificate of its own. It encrypts the traffic, but clients cannot verify the
 * server (`insecure_skip_verify`).
 *
 * The encoder writes the few dozen bytes of DER itself: node:crypto cannot create certificates, and a library takes longer to load
 * than the rest of the program.
 */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto"
import { isIP } from "node:net"

/** A certificate and its private key, both PEM. */
export interface Pair {
  readonly certificate: string
  readonly key: string
}

/** The lifetime of a certificate, in ms. */
export const lifetime = 365 * 24 * 60 * 60 * 1000

/** The certificate is valid since an hour ago, for clients whose clock is a little behind. */
const back = 60 * 60 * 1000

/** A DER value: tag, length, content. */
const value = (tag: number, ...content: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(content)
  const size = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...(body.length < 0x80 ? [body.length] : size)]), body])
}

const sequence = (...content: ReadonlyArray<Uint8Array>): Buffer => value(0x30, ...content)
const octets = (...content: ReadonlyArray<Uint8Array>): Buffer => value(0x04, ...content)
const yes = value(0x01, Buffer.from([0xff]))

/** An object identifier: the first two numbers share a byte; in the others each byte except the last has its top bit set. */
const identifier = (text: string): Buffer => {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number)
  const bytes = [first * 40 + second]
  for (const number of rest) {
    const groups = [number & 0x7f]
    for (let left = number >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80)
    bytes.push(...groups)
  }
  return value(0x06, Buffer.from(bytes))
}

/** A time, with a two-digit year until 2049 as the standard requires. */
const time = (millis: number): Buffer => {
  const text = new Date(millis).toISOString().replace(/\.\d+|[-:T]/g, "")
  return Number(text.slice(0, 4)) < 2050 ? value(0x17, Buffer.from(text.slice(2))) : value(0x18, Buffer.from(text))
}

const addressBytes = (ip: string): Buffer => {
  if (isIP(ip) === 4) return Buffer.from(ip.split(".").map(Number))
  const [head = "", tail = ""] = ip.split("::")
  const groups = (half: string): ReadonlyArray<string> => (half === "" ? [] : half.split(":"))
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array<string>(missing).fill("0"), ...groups(tail)]
  return Buffer.from(all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]))
}

const extension = (id: string, critical: boolean, content: Uint8Array): Buffer =>
  sequence(identifier(id), ...(critical ? [yes] : []), octets(content))

const ecdsaWithSha256 = sequence(identifier("1.2.840.10045.4.3.2"))

/** The key usage: digital signatures as a TLS server, and not as a CA. */
const purposes = [
  extension("2.5.29.19", true, sequence()),
  extension("2.5.29.15", true, value(0x03, Buffer.from([7, 0x80]))),
  extension("2.5.29.37", false, sequence(identifier("1.3.6.1.5.5.7.3.1")))
]

/**
 * A new key and its certificate. The key is P-256, because an RSA key takes half a second.
 *
 * @param names the DNS names and IP addresses of the server; IP addresses without scope and without mixed notation
 * @param now milliseconds since 1970
 */
export const make = (names: ReadonlyArray<string>, now: number): Pair => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
  const name = sequence(
    value(0x31, sequence(identifier("2.5.4.3"), value(0x0c, Buffer.from((names[0] ?? "").slice(0, 64)))))
  )
  const alternatives = names.map((each) =>
    isIP(each) === 0 ? value(0x82, Buffer.from(each)) : value(0x87, addressBytes(each))
  )
  const serial = randomBytes(16)
  // A positive number of full length.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const body = sequence(
    value(0xa0, value(0x02, Buffer.from([2]))),
    value(0x02, serial),
    ecdsaWithSha256,
    name,
    sequence(time(now - back), time(now + lifetime)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    value(0xa3, sequence(...purposes, extension("2.5.29.17", false, sequence(...alternatives))))
  )
  const signature = value(0x03, Buffer.from([0]), sign("sha256", body, privateKey))
  const lines = sequence(body, ecdsaWithSha256, signature)
    .toString("base64")
    .replace(/.{64}(?=.)/g, "$&\n")
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: "pkcs8", format: "pem" }))
  }
}
