import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Credentials from "./Credentials.ts"
import * as Destination from "./Destination.ts"

const destination = (text: string) => Result.getOrThrowWith(Destination.parse(text), (message) => new Error(message))

type Secrets = { readonly [name: string]: ReadonlyArray<string> }

const look = (
  to: string,
  secrets: Secrets,
  {
    repository,
    ...options
  }: Partial<Credentials.Options> & { readonly repository?: Parameters<typeof Credentials.references>[1] } = {}
) =>
  Credentials.mounts({
    destination: destination(to),
    references: Credentials.references("cart", repository),
    secrets: new Map(Object.entries(secrets)),
    ownIdentity: false,
    ...options
  })

const mounts = (...args: Parameters<typeof look>) =>
  Result.getOrThrowWith(look(...args), ({ message }) => new Error(message))
const refusal = (...args: Parameters<typeof look>) => Result.getOrThrow(Result.flip(look(...args)))

const of = "cart-backup-credentials"
const fromSecret = (name: string, secret: string, key = name) => ({
  name,
  valueFrom: { secretKeyRef: { name: secret, key } }
})

test("Credentials.secrets returns each Secret once, with the keys whose values are secret", () => {
  const s3 = destination("s3://bucket/path")
  const all = Destination.allowed(s3)
  expect(all).toContain("RESTIC_PASSWORD")
  const secrets = (repository: Parameters<typeof Credentials.references>[1]) =>
    Object.fromEntries(Credentials.secrets(Credentials.references("cart", repository), s3))
  const [caSecretRef, passwordSecretRef] = [
    { name: "b", key: "ca.crt" },
    { name: "b", key: "password" }
  ]
  expect(secrets(undefined)).toEqual({ [of]: all })
  expect(secrets({})).toEqual({ [of]: all })
  expect(secrets({ credentialsSecretRef: { name: "a" }, caSecretRef })).toEqual({ a: all, b: [] })
  expect(secrets({ caSecretRef, passwordSecretRef })).toEqual({ [of]: all, b: ["password"] })
  expect(secrets({ credentialsSecretRef: { name: "b" }, caSecretRef, passwordSecretRef })).toEqual({
    b: [...all, "password"]
  })
})

describe("Credentials.mounts gives the mover", () => {
  test("only the variables of its destination that have a value", () => {
    const keys = ["RESTIC_PASSWORD", "RESTIC_REST_USERNAME", "RESTIC_REST_PASSWORD"]
    const { env, ...others } = mounts("rest+https://host/a", {
      [of]: ["RESTIC_REST_USERNAME", "RESTIC_PASSWORD", "RESTIC_PASSWORD_COMMAND", "AWS_ACCESS_KEY_ID", "PATH"]
    })
    expect(env).toEqual(keys.slice(0, 2).map((key) => fromSecret(key, of)))
    expect(others).toEqual({ volumes: [], volumeMounts: [] })
  })
  test("the referenced credentials", () => {
    expect(
      mounts("pvc://backups", { mine: ["RESTIC_PASSWORD"] }, { repository: { credentialsSecretRef: { name: "mine" } } })
        .env
    ).toEqual([fromSecret("RESTIC_PASSWORD", "mine")])
  })
  test("the referenced password instead of the one in the credentials", () => {
    const repository = { passwordSecretRef: { name: "vault", key: "pass" } }
    const password = fromSecret("RESTIC_PASSWORD", "vault", "pass")
    const vault = ["pass", "other"]
    expect(mounts("pvc://backups", { vault, [of]: ["RESTIC_PASSWORD"] }, { repository }).env).toEqual([password])
    // No key is required, so the Secret may be absent.
    expect(mounts("pvc://backups", { vault }, { repository }).env).toEqual([password])
  })
  test("the certificate authority as a file", () => {
    expect(
      mounts(
        "pvc://backups",
        { [of]: ["RESTIC_PASSWORD"], tls: ["root.pem", "tls.key"] },
        { repository: { caSecretRef: { name: "tls", key: "root.pem" } } }
      )
    ).toEqual({
      env: [fromSecret("RESTIC_PASSWORD", of), { name: "RESTIC_CACERT", value: "/tls/ca.crt" }],
      volumes: [
        {
          name: "ca",
          secret: { secretName: "tls", items: [{ key: "root.pem", path: "ca.crt" }], defaultMode: 0o444 }
        }
      ],
      volumeMounts: [{ name: "ca", mountPath: "/tls", readOnly: true }]
    })
  })
  test("file credentials as a file", () => {
    const key = "GOOGLE_APPLICATION_CREDENTIALS"
    expect(mounts("gs://bucket", { [of]: ["RESTIC_PASSWORD", key] })).toEqual({
      env: [fromSecret("RESTIC_PASSWORD", of), { name: key, value: `/credentials/${key}` }],
      volumes: [{ name: "credentials", secret: { secretName: of, items: [{ key, path: key }], defaultMode: 0o444 } }],
      volumeMounts: [{ name: "credentials", mountPath: "/credentials", readOnly: true }]
    })
  })
  test("the region of the spec instead of the one in the Secret, each variable once", () => {
    const keys = ["RESTIC_PASSWORD", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"]
    const secrets = { [of]: keys }
    expect(mounts("s3://bucket", secrets).env).toEqual(keys.map((key) => fromSecret(key, of)))
    expect(mounts("s3://bucket", secrets, { region: "eu-central-1" }).env).toEqual([
      ...keys.slice(0, 3).map((key) => fromSecret(key, of)),
      { name: "AWS_DEFAULT_REGION", value: "eu-central-1" }
    ])
    expect(mounts("pvc://backups", secrets, { region: "eu-central-1" }).env).toEqual([
      fromSecret("RESTIC_PASSWORD", of)
    ])
  })
  test("no keys if it has a workload identity", () => {
    const secrets = { [of]: ["RESTIC_PASSWORD"] }
    for (const to of ["s3://bucket", "gs://bucket"]) {
      expect(mounts(to, secrets, { ownIdentity: true }).env).toEqual([fromSecret("RESTIC_PASSWORD", of)])
    }
  })
})

describe("Credentials.mounts rejects a Backup", () => {
  const identity = ", or set spec.serviceAccountName to a ServiceAccount with an identity in the cloud"
  const table: ReadonlyArray<readonly [string, Parameters<typeof look>, string]> = [
    ["without its Secret", ["rest+https://host/a", {}], `Secret not found: ${of} (create it with RESTIC_PASSWORD)`],
    [
      "without its Secret, which needs several keys",
      ["s3://bucket", {}],
      `Secret not found: ${of} (create it with RESTIC_PASSWORD, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY${identity})`
    ],
    [
      "without a password",
      ["rest+https://host/a", { [of]: ["RESTIC_REST_USERNAME"] }],
      `keys missing or empty in Secret ${of}: RESTIC_PASSWORD (add them)`
    ],
    [
      "with an empty password",
      ["rest+https://host/a", { [of]: [] }],
      `keys missing or empty in Secret ${of}: RESTIC_PASSWORD (add them)`
    ],
    [
      "with half of the keys, even with an identity",
      ["s3://bucket", { [of]: ["RESTIC_PASSWORD", "AWS_ACCESS_KEY_ID"] }, { ownIdentity: true }],
      `keys missing or empty in Secret ${of}: AWS_SECRET_ACCESS_KEY (add them)`
    ],
    [
      "without any of several alternative keys",
      ["gs://bucket", { [of]: ["RESTIC_PASSWORD"] }],
      `keys missing or empty in Secret ${of}: GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_ACCESS_TOKEN (add them${identity})`
    ],
    [
      "without a referenced Secret, even if it needs no key of that Secret",
      [
        "pvc://backups",
        { vault: ["pass"] },
        { repository: { credentialsSecretRef: { name: "mine" }, passwordSecretRef: { name: "vault", key: "pass" } } }
      ],
      "Secret of spec.repository.credentialsSecretRef not found: mine (create it, or remove the field)"
    ],
    [
      "without the referenced password, even if the credentials contain one",
      [
        "pvc://backups",
        { [of]: ["RESTIC_PASSWORD"], vault: ["other"] },
        { repository: { passwordSecretRef: { name: "vault", key: "pass" } } }
      ],
      "key of spec.repository.passwordSecretRef missing or empty in Secret vault: pass (add it)"
    ],
    [
      "without several references, with one message",
      [
        "b2://bucket",
        { tls: ["tls.crt"] },
        {
          repository: {
            caSecretRef: { name: "tls", key: "ca.crt" },
            passwordSecretRef: { name: "vault", key: "RESTIC_PASSWORD" }
          }
        }
      ],
      `Secret not found: ${of} (create it with B2_ACCOUNT_ID and B2_ACCOUNT_KEY); Secret of spec.repository.passwordSecretRef not found: vault (create it with RESTIC_PASSWORD); key of spec.repository.caSecretRef missing or empty in Secret tls: ca.crt (add it)`
    ]
  ]
  for (const [when, given, message] of table) {
    test(when, () => {
      expect(refusal(...given)).toEqual({ reason: "CredentialsMissing", message })
    })
  }
})

describe("Credentials.hasControl finds a control character anywhere in a value", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64")
  for (const text of ["key\n", "key\r\n", "\tkey", "k\0y", "k\u007fy"]) {
    test(JSON.stringify(text), () => expect(Credentials.hasControl(base64(text))).toBe(true))
  }
  for (const text of ["", "key", "two words", "schlüssel", "\u0085"]) {
    test(`not in ${JSON.stringify(text)}`, () => expect(Credentials.hasControl(base64(text))).toBe(false))
  }
})

describe("A control character in a value", () => {
  const s3 = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "RESTIC_PASSWORD"]
  const rest = ["RESTIC_REST_USERNAME", "RESTIC_REST_PASSWORD", "RESTIC_PASSWORD"]
  for (const [to, keys] of [
    ["s3://bucket/a", s3],
    ["rest+https://host/a", rest],
    ["b2://bucket/a", ["B2_ACCOUNT_ID", "B2_ACCOUNT_KEY", "RESTIC_PASSWORD"]],
    ["azure://container/a", ["AZURE_ACCOUNT_NAME", "AZURE_ACCOUNT_KEY", "RESTIC_PASSWORD"]]
  ] as const) {
    for (const key of keys.slice(0, -1)) {
      test(`makes the credentials invalid, and the message names the key: ${to} ${key}`, () =>
        expect(refusal(to, { [of]: keys }, { isUnprintable: (secret, name) => secret === of && name === key })).toEqual(
          {
            reason: "CredentialsInvalid",
            message: `control character in key ${key} of Secret ${of} (remove it, for example the line break at the end)`
          }
        ))
    }
  }
  test("names all keys", () =>
    expect(refusal("s3://bucket/a", { [of]: s3 }, { isUnprintable: () => true }).message.split("; ")).toHaveLength(2))
  test("is allowed in the password of the repository, in files and in keys that no mover gets", () => {
    const isUnprintable = (_: string, key: string) => key === "RESTIC_PASSWORD" || key === "OTHER" || key === "ca.crt"
    const repository = { caSecretRef: { name: "tls", key: "ca.crt" } }
    expect(
      Result.isSuccess(
        look("s3://bucket/a", { [of]: [...s3, "OTHER"], tls: ["ca.crt"] }, { isUnprintable, repository })
      )
    ).toBe(true)
  })
})
