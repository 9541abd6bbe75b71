/**
 * Certificates in DER and PEM. The encoder writes the few dozen bytes of DER itself: node:crypto cannot create certificates, and a
 * library takes longer to load than the rest of the program.
 *
 * @internal
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { isIP } from "node:net"

/** A DER value: tag, length, content. */
const value = (tag: number, ...content: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(content)
  const size = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...(body.length < 0x80 ? [body.length] : size)]), body])
}

const sequence = (...content: ReadonlyArray<Uint8Array>): Buffer => value(0x30, ...content)
const octets = (...content: ReadonlyArray<Uint8Array>): Buffer => value(0x04, ...content)
const integer = (...bytes: ReadonlyArray<number>): Buffer => value(0x02, Buffer.from(bytes))
const bits = (unused: number, ...bytes: ReadonlyArray<number>): Buffer => value(0x03, Buffer.from([unused, ...bytes]))
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

/** The bytes of an IP address without scope and without mixed notation. */
export const addressBytes = (ip: string): Buffer => {
  if (isIP(ip) === 4) return Buffer.from(ip.split(".").map(Number))
  const [head = "", tail = ""] = ip.split("::")
  const groups = (half: string): ReadonlyArray<string> => (half === "" ? [] : half.split(":"))
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array<string>(missing).fill("0"), ...groups(tail)]
  return Buffer.from(all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]))
}

const extension = (id: string, critical: boolean, content: Uint8Array): Buffer =>
  sequence(identifier(id), ...(critical ? [yes] : []), octets(content))

const publicKeyOf = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" })

/** The identifier of a P-256 key: the SHA-1 hash of its point, which is the end of its encoding. */
const keyIdOf = (key: KeyObject): Buffer => createHash("sha1").update(publicKeyOf(key).subarray(-65)).digest()

/** The key usage: digital signatures as a TLS server, and not as a CA. */
export const serving: ReadonlyArray<Buffer> = [
  extension("2.5.29.19", true, sequence()),
  extension("2.5.29.15", true, bits(7, 0x80)),
  extension("2.5.29.37", false, sequence(identifier("1.3.6.1.5.5.7.3.1")))
]

/** The key usage: signatures of serving certificates. */
export const signing: ReadonlyArray<Buffer> = [
  extension("2.5.29.19", true, sequence(yes, integer(0))),
  extension("2.5.29.15", true, bits(2, 0x04))
]

/** The DNS names and IP addresses of a server. */
export const alternatives = (names: ReadonlyArray<string>): Buffer =>
  extension(
    "2.5.29.17",
    false,
    sequence(
      ...names.map((each) => (isIP(each) === 0 ? value(0x82, Buffer.from(each)) : value(0x87, addressBytes(each))))
    )
  )

/** The identifier of the certificate's own key. */
export const subjectKey = (key: KeyObject): Buffer => extension("2.5.29.14", false, octets(keyIdOf(key)))

/** The identifier of the issuer's key. */
export const authorityKey = (key: KeyObject): Buffer =>
  extension("2.5.29.35", false, sequence(value(0x80, keyIdOf(key))))

/** A common name. A longer one is cut after 64 characters, the limit of the standard. */
export const commonName = (text: string): Buffer =>
  sequence(value(0x31, sequence(identifier("2.5.4.3"), value(0x0c, Buffer.from(text.slice(0, 64))))))

const ecdsaWithSha256 = sequence(identifier("1.2.840.10045.4.3.2"))

/** A new P-256 key, because an RSA key takes half a second. */
export const makeKey = (): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } =>
  generateKeyPairSync("ec", { namedCurve: "prime256v1" })

/** A private key in PEM (PKCS #8). */
export const keyPem = (key: KeyObject): string => String(key.export({ type: "pkcs8", format: "pem" }))

/** The content of a certificate. Names and extensions are DER, times are milliseconds since 1970. */
export interface Content {
  readonly subject: Buffer
  readonly issuer: Buffer
  readonly publicKey: KeyObject
  readonly from: number
  readonly to: number
  readonly extensions: ReadonlyArray<Buffer>
}

/** A certificate in PEM with a random serial number, signed with the P-256 key of its issuer. */
export const certificate = (content: Content, issuerKey: KeyObject): string => {
  const { extensions, from, issuer, publicKey, subject, to } = content
  const serial = randomBytes(16)
  // A positive number of full length.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const body = sequence(
    value(0xa0, integer(2)),
    integer(...serial),
    ecdsaWithSha256,
    issuer,
    sequence(time(from), time(to)),
    subject,
    publicKeyOf(publicKey),
    value(0xa3, sequence(...extensions))
  )
  return pem(sequence(body, ecdsaWithSha256, bits(0, ...sign("sha256", body, issuerKey))))
}

/** A certificate in PEM. */
const pem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString("base64").replace(/.{64}(?=.)/g, "$&\n")}\n-----END CERTIFICATE-----\n`

/** The certificates of a PEM text, each in PEM with a line break at its end. Other content is ignored. */
export const certificatesOf = (text: string): ReadonlyArray<string> =>
  Array.from(
    text.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g),
    ([found]) => `${found.replaceAll("\r", "")}\n`
  )
