/**
 * The libraries that Bun links into its executables. Versions and commits are those in `process.versions`; licences are those that Bun's
 * `LICENSE.md` names, as SPDX expressions: https://bun.com/docs/project/license
 */
import * as Cdx from "@cyclonedx/cyclonedx-library"
import parseLicence from "spdx-expression-parse"

/** Entries of `process.versions` that are not libraries: Bun itself, standards, and programs that Bun replaces. */
const others = new Set(["bun", "node", "v8", "uv", "napi", "modules", "unicode", "openssl", "typescript"])

/** An SPDX expression, or the address of a text with several licences. */
const licences: { readonly [name: string]: string } = {
  ares: "MIT",
  boringssl: "https://boringssl.googlesource.com/boringssl/+/HEAD/LICENSE",
  brotli: "MIT",
  highway: "Apache-2.0",
  icu: "Unicode-3.0",
  libarchive: "https://github.com/libarchive/libarchive/blob/master/COPYING",
  libbase64: "BSD-2-Clause",
  libdeflate: "MIT",
  "libjpeg-turbo": "BSD-3-Clause AND IJG AND Zlib",
  libspng: "BSD-2-Clause",
  libwebp: "BSD-3-Clause",
  llhttp: "MIT",
  lolhtml: "BSD-3-Clause",
  lshpack: "MIT",
  lsqpack: "MIT",
  lsquic: "MIT AND BSD-3-Clause",
  mimalloc: "MIT",
  picohttpparser: "MIT OR Artistic-1.0-Perl",
  simdutf: "Apache-2.0",
  sqlite: "blessing",
  tinycc: "LGPL-2.1-or-later",
  usockets: "Apache-2.0",
  uucode: "MIT",
  uwebsockets: "Apache-2.0",
  webkit: "LGPL-2.0-or-later AND BSD-2-Clause",
  zig: "MIT",
  zlib: "Zlib",
  zstd: "BSD-3-Clause OR GPL-2.0-only"
}

const factory = new Cdx.Contrib.License.Factories.LicenseFactory(parseLicence)

const licenceOf = (text: string): Cdx.Models.License =>
  text.startsWith("https://")
    ? new Cdx.Models.NamedLicense("several licences", { url: text })
    : factory.makeFromString(text)

/** All libraries. One that is not in `process.versions` has no version. */
export const components = (): ReadonlyArray<Cdx.Models.Component> => {
  const versions = Object.entries(process.versions).filter(([name]) => !others.has(name))
  const all = new Map<string, string | undefined>([
    ...Object.keys(licences).map((name) => [name, undefined] as const),
    ...versions
  ])
  return Array.from(all, ([name, version]) => {
    const licence = licences[name]
    return new Cdx.Models.Component(Cdx.Enums.ComponentType.Library, name, {
      version,
      bomRef: `bun/${name}${version === undefined ? "" : `@${version}`}`,
      ...(licence !== undefined && { licenses: new Cdx.Models.LicenseRepository([licenceOf(licence)]) })
    })
  })
}
