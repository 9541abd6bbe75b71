/** The client certificate of a real kube-apiserver, with the commands and files of docs/webhooks.md. */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Endpoint from "../binary/Endpoint.ts"
import * as Scene from "./Scene.ts"

/** The blocks of code of the section, by their languages. */
const blocks = async () => {
  const page = await Bun.file(join(import.meta.dir, "../../../docs/webhooks.md")).text()
  const section = page.split("## Only the API server may call")[1]?.split("\n## ")[0] ?? ""
  const found = Array.from(section.matchAll(/```(\w+)\n([\s\S]*?)```/g), ([, language, text = ""]) => ({
    language,
    text
  }))
  expect(found.map(({ language }) => language)).toEqual(["sh", "yaml", "yaml"])
  return found.map(({ text }) => text) as [string, string, string]
}

/** Writes the files of the page for the webhooks at a port. Returns the folder. */
const files = (port: number) =>
  Effect.gen(function* () {
    const folder = yield* Directory.make
    const [commands, admission, kubeconfig] = yield* Effect.promise(blocks)
    const placed = (text: string) =>
      text
        .replaceAll("/etc/kubernetes/webhooks/", `${folder}/`)
        .replaceAll("/etc/kubernetes/", `${folder}/`)
        .replaceAll("homeostat-webhook.homeostat-system.svc", `"127.0.0.1:${port}"`)
    yield* Effect.promise(async () => {
      const made = Bun.spawn(["sh", "-ec", commands], { cwd: folder, stderr: "pipe" })
      expect([await made.exited, await new Response(made.stderr).text()]).toEqual([0, expect.any(String)])
      await Bun.write(join(folder, "admission.yaml"), placed(admission))
      await Bun.write(join(folder, "webhooks.kubeconfig"), placed(kubeconfig))
    })
    return folder
  })

const backup = {
  apiVersion: "backup.example.com/v1",
  kind: "Backup",
  metadata: { namespace: "default", name: "shop" },
  spec: { source: "pvc/data", schedule: "61 * * * *", destination: "s3://bucket" }
}

/** The answer to a review without a certificate. */
const forged = (port: number) =>
  Effect.promise(() =>
    fetch(`https://127.0.0.1:${port}/validate-backup-example-com-v1-backup`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
      tls: { rejectUnauthorized: false }
    }).then(
      ({ status }) => String(status),
      () => "closed"
    )
  )

live(
  "Only a kube-apiserver with the certificate of docs/webhooks.md gets answers of the webhooks",
  () =>
    Effect.gen(function* () {
      const port = yield* Scene.freePort
      const folder = yield* files(port)
      const cluster = yield* Envtest.start({
        apiServerFlags: [`--admission-control-config-file=${join(folder, "admission.yaml")}`]
      })
      const replica = yield* Scene.replica(cluster, port, [
        `--webhook-client-ca=${join(folder, "ca.crt")}`,
        "--webhook-client-name=kube-apiserver"
      ])
      yield* Scene.ready(replica)
      expect(yield* forged(port)).toBe("closed")
      const { stderr } = yield* Eventually.eventually(
        "the denial",
        Scene.kubectl(cluster, ["create", "-f", "-", "--dry-run=server"], backup),
        ({ exitCode, stderr }) => exitCode !== 0 && stderr.includes("spec.schedule")
      )
      expect(stderr).toContain('minute "61" must be 0 to 59')
      const why = yield* Endpoint.get(replica, "/why?kind=backup&namespace=default&name=shop")
      expect(why.body).toMatch(/\nWebhook .*denied.*create by /)
      expect(why.body).not.toContain("unauthenticated")
    }),
  180_000
)
