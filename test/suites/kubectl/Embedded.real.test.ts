/** kubectl on the embedded cluster alone: logs of programs, and rejected commands. */
import { describe, expect } from "bun:test"
import * as NodePath from "node:path"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as ControlPlane from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as User from "@homeostat/testkit/envtest/User"
import * as Program from "@homeostat/testkit/kubelet/Program"
import { live } from "@homeostat/testkit/Test"
import { Effect, type Scope } from "effect"
import * as Session from "./Session.ts"

const job = (name: string, script: string) => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "registry.test/sh:1", args: [${JSON.stringify(script)}]}]
`

const files = {
  "count.yaml": job("count", "for i in 1 2 3; do echo line $i; done; echo bad >&2"),
  "slow.yaml": job("slow", "echo begun; while [ ! -e go ]; do sleep 0.1; done; echo done"),
  "broken.yaml": job("broken", "echo before; exit 3"),
  "two.yaml": `apiVersion: v1
kind: Pod
metadata: {name: two}
spec: {containers: [{name: a, image: "registry.test/sh:1", args: [echo a]}, {name: b, image: i}]}
`
}

/** Declares a test with a shell, on a cluster whose node runs `sh`. */
const onShell = (
  name: string,
  body: (session: Session.Session, folder: string) => Effect.Effect<void, unknown, Scope.Scope>
) =>
  live(
    name,
    () =>
      Effect.gen(function* () {
        const directory = yield* Directory.make
        const pods = NodePath.join(directory, "pods")
        const cluster = yield* EmbeddedCluster.make({
          kubelet: { directory: pods, images: { "registry.test/sh": Program.command(["sh", "-c"]) } }
        })
        const server = yield* cluster.serve()
        const admin = yield* User.make(directory, { server, ca: undefined, user: "admin" }, ["system:masters"])
        const plane = ControlPlane.make({
          admin,
          addUser: () => Effect.die(new Error("not supported")),
          processes: [],
          auditLogPath: undefined,
          directory
        })
        yield* body(yield* Session.open(plane, files), pods)
      }),
    60_000
  )

const ok = (stdout: string) => ({ stdout, stderr: "", exitCode: 0 })
const refused = (stderr: string) => ({ stdout: "", stderr: `${stderr}\n`, exitCode: 1 })

describe("kubectl logs", () => {
  onShell("shows the whole log of a Job's pod, or its end", ({ run }) =>
    Effect.gen(function* () {
      yield* run("kubectl apply -f count.yaml && kubectl wait job/count --for=condition=Complete")
      const all = "line 1\nline 2\nline 3\nbad\n"
      expect(yield* run("kubectl logs job/count")).toEqual(ok(all))
      expect(yield* run("kubectl logs -l job-name=count -c main")).toEqual(ok(all))
      expect(yield* run("kubectl logs job/count --tail=2")).toEqual(ok("line 3\nbad\n"))
      expect(yield* run("kubectl logs job/count --tail=0")).toEqual(ok(""))
      expect(yield* run("kubectl logs job/count -f")).toEqual(ok(all))
    })
  )

  onShell("-f ends with the container", ({ run, watch }, folder) =>
    Effect.gen(function* () {
      yield* run("kubectl apply -f slow.yaml")
      yield* run("kubectl wait pod -l job-name=slow --for=jsonpath='{.status.phase}'=Running")
      const { stdout } = yield* watch("kubectl logs job/slow -f; echo ended", {
        meanwhile: { after: /begun/, line: `for root in ${folder}/pods/*/containers/main; do touch $root/go; done` },
        last: /ended/
      })
      expect(stdout).toBe("begun\ndone\nended\n")
    })
  )

  onShell("shows the log of a failed pod", ({ run }) =>
    Effect.gen(function* () {
      yield* run("kubectl apply -f broken.yaml && kubectl wait job/broken --for=condition=Failed")
      expect(yield* run("kubectl logs job/broken")).toEqual(ok("before\n"))
      expect((yield* run("kubectl get pods --no-headers")).stdout).toMatch(/broken-\w+ +0\/1 +Error/)
    })
  )

  onShell("refuses unknown pods and containers, and --previous", ({ namespace, run }) =>
    Effect.gen(function* () {
      yield* run("kubectl apply -f two.yaml && kubectl wait pod/two --for=condition=Ready=False")
      expect(yield* run("kubectl logs nothing")).toEqual(
        refused(`error: error from server (NotFound): pods "nothing" not found in namespace "${namespace}"`)
      )
      expect(yield* run("kubectl logs two -c nothing")).toEqual(
        refused("error: container nothing is not valid for pod two out of: a, b")
      )
      expect(yield* run(`kubectl get --raw /api/v1/namespaces/${namespace}/pods/two/log`)).toEqual(
        refused("Error from server (BadRequest): a container name must be specified for pod two, choose one of: [a b]")
      )
      expect(yield* run("kubectl logs two -c a --previous")).toEqual(
        refused("Error from server (NotImplemented): the embedded API server does not support previous of logs")
      )
      expect(yield* run("kubectl logs two -c b")).toEqual(ok(""))
    })
  )
})

describe("On the embedded cluster", () => {
  // Since 1.32, kubectl sends these bodies in protobuf.
  for (const [command, output] of [
    ["create deployment other --image=nginx", "deployment.apps/other created\n"],
    ["create namespace other", "namespace/other created\n"],
    ["create configmap c --from-literal=a=b", "configmap/c created\n"],
    ["create secret generic s --from-literal=a=b", "secret/s created\n"],
    ["create job j --image=busybox", "job.batch/j created\n"],
    ["create serviceaccount robot", "serviceaccount/robot created\n"],
    ["create role reader --verb=get --resource=pods", "role.rbac.authorization.k8s.io/reader created\n"],
    ["create quota q --hard=pods=1", "resourcequota/q created\n"],
    ["create token default --duration=1h | cut -c1-3", "eyJ\n"],
    ["run web --image=nginx", "pod/web created\n"],
    ["auth can-i get pods", "yes\n"]
  ] as const) {
    onShell(`kubectl ${command} works`, ({ run }) =>
      Effect.gen(function* () {
        const { exitCode, stdout } = yield* run(`kubectl ${command}`)
        expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: output })
      })
    )
  }

  onShell("kubectl autoscale creates an autoscaler in protobuf", ({ run }) =>
    Effect.gen(function* () {
      yield* run("kubectl create deployment web --image=nginx")
      expect((yield* run("kubectl autoscale deployment web --max=3")).stdout).toBe(
        "horizontalpodautoscaler.autoscaling/web autoscaled\n"
      )
      expect((yield* run("kubectl get hpa web -o jsonpath='{.spec.maxReplicas}'")).stdout).toBe("3")
    })
  )

  onShell("the same commands work through create -f", ({ run }) =>
    Effect.gen(function* () {
      expect(
        yield* run("kubectl create deployment web --image=nginx --dry-run=client -o yaml | kubectl create -f -")
      ).toEqual(ok("deployment.apps/web created\n"))
      expect(
        yield* run(
          "kubectl create job j --image=registry.test/sh:1 --dry-run=client -o yaml -- sh -c 'echo hi' | kubectl create -f -"
        )
      ).toEqual(ok("job.batch/j created\n"))
    })
  )

  onShell("OpenAPI v2 describes no kind", ({ run }) =>
    Effect.gen(function* () {
      expect(yield* run("kubectl explain pod -o plaintext-openapiv2")).toEqual(
        refused(`error: couldn't find resource for "/v1, Kind=Pod"`)
      )
    })
  )
})
