/**
 * One seed for all random values of this project's tests.
 *
 * The seed is a hash of the project's sources. Every change brings new cases. The same sources draw the same cases on every machine,
 * with or without git. `HOMEOSTAT_TEST_SEED` in the environment replaces the seed.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Glob } from "bun"

const variable = "HOMEOSTAT_TEST_SEED"

/** fast-check accepts 32 bits including the sign. The tests count upwards from the seed. */
const greatest = 2 ** 30

/** The seed for the TypeScript sources below the folders with tests. It ignores packages and build output. */
export const ofSources = (root: string): number => {
  const hash = createHash("sha256")
  const files = Array.from(new Glob("{controllers,observability,runtime,test}/**/*.ts").scanSync(root))
  for (const file of files.filter((file) => !/(^|\/)(node_modules|dist)\//.test(file)).sort()) {
    hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  }
  return hash.digest().readUInt32BE() % greatest
}

const ofEnvironment = (): number | undefined => {
  const text = process.env[variable]
  if (text === undefined || text === "") return undefined
  const seed = Number(text)
  if (/^\d+$/.test(text) && seed < greatest) return seed
  throw new Error(`${variable} is not a seed: ${text} (an integer from 0 to ${greatest - 1})`)
}

let known: number | undefined

/** The seed of this process, from 0 to 2^30 - 1. The first call prints the seed. Throws for an invalid `HOMEOSTAT_TEST_SEED`. */
export const current = (): number => {
  if (known === undefined) {
    known = ofEnvironment() ?? ofSources(join(import.meta.dir, "../.."))
    process.stdout.write(`\nRandom cases come from ${variable}=${known}\n`)
  }
  return known
}
