/** The SHA-256 of files. */

/** In hexadecimal digits. */
export const of = async (file: string): Promise<string> => {
  const hasher = new Bun.CryptoHasher("sha256")
  for await (const bytes of Bun.file(file).stream()) hasher.update(bytes)
  return hasher.digest("hex")
}
