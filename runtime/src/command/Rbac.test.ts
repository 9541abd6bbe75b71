import { describe, expect, test } from "bun:test"
import type { Permission } from "../manager/Permissions.ts"
import * as Rbac from "./Rbac.ts"

const settings = {
  namespaces: [],
  controllers: [],
  selector: undefined,
  leaderElect: false,
  leaseName: undefined,
  leaseNamespace: undefined,
  installCrds: false,
  metricsSecure: false,
  webhooks: true
}

const missing = (by: string): ReadonlyArray<Permission> => [
  {
    verb: "create",
    group: "",
    resource: "secrets",
    subresource: undefined,
    name: undefined,
    namespace: "sites-system",
    by: ["controller site", by]
  }
]

const remedy = (change: Partial<Parameters<typeof Rbac.remedy>[1]>, by: string) =>
  Rbac.remedy({ name: "sites" }, { ...settings, ...change }, missing(by))

describe("Missing permissions", () => {
  test("of webhooks come with the command that adds them", () =>
    expect(remedy({}, "--webhooks")).toBe(
      "To add the permissions of the webhooks: sites rbac --webhooks | kubectl apply -f - (with --service-account, unless the account is sites-system/sites)"
    ))

  test("come with the flags of the manager, so that the command removes no permission", () =>
    expect(
      remedy({ namespaces: ["a", "b"], installCrds: true, leaderElect: true, selector: "team in (a,b)" }, "--webhooks")
    ).toContain(
      "sites rbac --namespace=a --namespace=b '--selector=team in (a,b)' --leader-elect --install-crds --webhooks | kubectl"
    ))

  test("of other parts have no such command", () => expect(remedy({}, "--install-crds")).toBeUndefined())
})
