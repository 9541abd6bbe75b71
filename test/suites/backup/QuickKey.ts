/**
 * Makes a repository in a folder open quickly. By design, restic takes half a second at each start to turn a password into a key.
 * Tests start restic often. This module writes the key again with scrypt's lowest cost, and deletes the slow key.
 */
import { createCipheriv, createHash, randomBytes, scryptSync } from "node:crypto"
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import * as Restic from "./Restic.ts"

/** Poly1305, as in RFC 8439. */
const poly1305 = (message: Uint8Array, key: Uint8Array): Uint8Array => {
  const number = (bytes: Uint8Array): bigint => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  const prime = (1n << 130n) - 5n
  const r = number(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn
  let sum = 0n
  for (let start = 0; start < message.length; start += 16) {
    const block = message.subarray(start, start + 16)
    sum = ((sum + number(block) + (1n << BigInt(8 * block.length))) * r) % prime
  }
  let left = sum + number(key.subarray(16, 32))
  return Uint8Array.from({ length: 16 }, () => {
    const byte = Number(left & 255n)
    left >>= 8n
    return byte
  })
}

/** restic's encryption: AES-256 in counter mode, with Poly1305-AES over the ciphertext. */
const seal = (plain: Uint8Array, derived: Uint8Array): Uint8Array => {
  const nonce = randomBytes(16)
  const text = createCipheriv("aes-256-ctr", derived.subarray(0, 32), nonce).update(plain)
  const block = createCipheriv("aes-128-ecb", derived.subarray(32, 48), null).setAutoPadding(false).update(nonce)
  return Buffer.concat([nonce, text, poly1305(text, Buffer.concat([derived.subarray(48, 64), block]))])
}

/**
 * Replaces the key of a repository by a quick one.
 *
 * @param folder the repository's folder on this machine; its password is in `env`
 */
export const write = (folder: string, env: Restic.Environment) =>
  Effect.gen(function* () {
    const master = yield* Restic.output({ ...env, RESTIC_REPOSITORY: folder }, "cat", "masterkey")
    const cost = { N: 2, r: 1, p: 1 }
    const salt = randomBytes(64)
    const data = seal(Buffer.from(master.trim()), scryptSync(env.RESTIC_PASSWORD ?? "", salt, 64, cost))
    const file = JSON.stringify({
      created: "2026-01-01T00:00:00Z",
      username: "test",
      hostname: "test",
      kdf: "scrypt",
      ...cost,
      salt: salt.toString("base64"),
      data: Buffer.from(data).toString("base64")
    })
    const keys = join(folder, "keys")
    const slow = readdirSync(keys)
    writeFileSync(join(keys, createHash("sha256").update(file).digest("hex")), file, { mode: 0o400 })
    for (const name of slow) rmSync(join(keys, name))
  })
