/** Webhooks under Node. */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Node from "../../suites/binary/Node.ts"
import * as Issuer from "./Issuer.fixture.ts"

live(
  "Node calls a webhook and verifies its certificate",
  () =>
    Effect.gen(function* () {
      const folder = yield* Directory.make
      const built = yield* Effect.promise(() =>
        Bun.build({
          entrypoints: [join(import.meta.dir, "fixtures/call.ts")],
          target: "node",
          conditions: ["homeostat-source"],
          outdir: folder,
          naming: "call.mjs"
        })
      )
      expect(built.logs).toEqual([])
      const node = yield* Node.path
      const authority = yield* Certificates.authority
      const other = yield* Certificates.authority
      const { certificate, key } = yield* authority.server({ dns: [], ip: ["127.0.0.1"] })
      const served = (cert: string, privateKey: string) =>
        Effect.acquireRelease(
          Effect.sync(() =>
            Bun.serve({
              hostname: "127.0.0.1",
              port: 0,
              tls: { cert, key: privateKey },
              fetch: () => Response.json({ response: { allowed: true } })
            })
          ),
          (one) => Effect.promise(() => one.stop(true))
        )
      const url = `https://127.0.0.1:${(yield* served(certificate, key)).port}/a`
      const call = (ca: string, url: string) =>
        Effect.promise(async () => {
          const bundle = Buffer.from(ca).toString("base64")
          const program = Bun.spawn([node, join(folder, "call.mjs"), url, bundle], { stdout: "pipe", stderr: "pipe" })
          const [output, errors] = await Promise.all([
            new Response(program.stdout).text(),
            new Response(program.stderr).text()
          ])
          expect({ code: await program.exited, errors }).toEqual({ code: 0, errors: "" })
          return JSON.parse(output)
        })
      expect(yield* call(authority.certificate, url)).toMatchObject({ review: { response: { allowed: true } } })
      expect(yield* call(other.certificate, url)).toEqual({
        problem: `Post "${url}?timeout=5s": tls: failed to verify certificate: x509: certificate signed by unknown authority`
      })
      const root = yield* Issuer.issue("root", { isAuthority: true })
      const intermediate = yield* Issuer.issue("intermediate", { isAuthority: true, issuer: root })
      const named = yield* Issuer.issue("localhost", { dns: ["localhost"], issuer: intermediate })
      const trusted = `https://localhost:${(yield* served(named.certificate, named.key)).port}/a`
      expect(yield* call(intermediate.certificate, trusted)).toMatchObject({ review: { response: { allowed: true } } })
      const nameless = yield* Issuer.issue("localhost", { issuer: root })
      const legacy = `https://localhost:${(yield* served(nameless.certificate, nameless.key)).port}/a`
      expect(yield* call(root.certificate, legacy)).toEqual({
        problem: `Post "${legacy}?timeout=5s": tls: failed to verify certificate: x509: certificate relies on legacy Common Name field, use SANs instead`
      })
    }),
  120_000
)
