import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as ProxySettings from "./ProxySettings.ts"

const proxy = "http://proxy:3128"

const resolve = (server: string, except = "", environment: Partial<ProxySettings.Environment> = {}) =>
  ProxySettings.resolve(new URL(server), { https: proxy, http: "", except, ...environment })

describe("ProxySettings", () => {
  test("a server is reached through the proxy for its scheme", () => {
    expect(resolve("https://kube:6443")).toBe(proxy)
    expect(resolve("http://kube:6443")).toBeUndefined()
    expect(resolve("http://kube:6443", "", { http: "other:80" })).toBe("http://other:80")
    expect(resolve("https://kube:6443", "", { https: "" })).toBeUndefined()
  })

  test.each(["https://localhost:6443", "https://127.0.0.1:6443", "https://127.8.9.10:6443", "https://[::1]:6443"])(
    "loopback is always reached directly: %s",
    (server) => {
      expect(resolve(server)).toBeUndefined()
    }
  )

  // The server, NO_PROXY, and whether the connection is direct.
  const cases: ReadonlyArray<{ readonly server: string; readonly except: string; readonly direct: boolean }> = [
    { server: "https://kube", except: "*", direct: true },
    { server: "https://kube.example.com", except: "example.com", direct: true },
    { server: "https://example.com", except: "example.com", direct: true },
    { server: "https://badexample.com", except: "example.com", direct: false },
    { server: "https://kube.example.com", except: ".example.com", direct: true },
    { server: "https://example.com", except: ".example.com", direct: false },
    { server: "https://kube.example.com", except: "*.example.com", direct: true },
    { server: "https://KUBE.example.com", except: "Kube.Example.Com", direct: true },
    { server: "https://kube:6443", except: "kube:6443", direct: true },
    { server: "https://kube:6443", except: "kube:443", direct: false },
    { server: "https://kube", except: "kube:443", direct: true },
    { server: "https://10.1.2.3:6443", except: "10.0.0.0/8", direct: true },
    { server: "https://11.1.2.3:6443", except: "10.0.0.0/8", direct: false },
    { server: "https://10.1.2.3:6443", except: "10.1.2.3", direct: true },
    { server: "https://10.1.2.30:6443", except: "10.1.2.3", direct: false },
    { server: "https://[fd00::1]:6443", except: "fd00::/8", direct: true },
    { server: "https://[fd00::1]:6443", except: "fd00:0::1", direct: true },
    { server: "https://[fd00::1]:6443", except: "[fd00::1]:6443", direct: true },
    { server: "https://[fd00::1]:6443", except: "10.0.0.0/8", direct: false },
    { server: "https://kube", except: "a, kube ,b", direct: true },
    { server: "https://kube", except: ",,", direct: false },
    { server: "https://10.1.2.3", except: "10.0.0.0/99", direct: false }
  ]
  for (const { direct, except, server } of cases) {
    test(`with NO_PROXY=${except}, ${server} is reached ${direct ? "directly" : "through the proxy"}`, () => {
      expect(resolve(server, except)).toBe(direct ? undefined : proxy)
    })
  }

  effect("upper-case variables have precedence over lower-case ones", () =>
    Effect.gen(function* () {
      const read = (variables: Record<string, string>) =>
        Effect.provideService(
          ProxySettings.environment,
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromEnvRecord(variables)
        )
      expect(yield* read({})).toEqual({ https: "", http: "", except: "" })
      expect(yield* read({ HTTPS_PROXY: "a", https_proxy: "b", http_proxy: "c", no_proxy: "d,e" })).toEqual({
        https: "a",
        http: "c",
        except: "d,e"
      })
    })
  )
})
