/**
 * The calibration loop: fixed work of the kind that tests do, without any module of this project. Its CPU time is the unit of the budget
 * (`Budget.ts`).
 */

const objects = Array.from({ length: 200 }, (_, number) => ({
  metadata: { name: `object-${number}`, labels: { app: "shop", tier: `${number % 7}` } },
  spec: { replicas: number % 5, containers: [{ name: "app", env: [{ name: "NUMBER", value: `${number}` }] }] }
}))

let length = 0
for (let round = 0; round < 1200; round++) {
  const store = new Map<string, string>()
  for (const object of objects) {
    const copy = structuredClone({ ...object, round })
    store.set(copy.metadata.name, JSON.stringify(copy))
  }
  const names = [...store.keys()].sort((one, other) => other.localeCompare(one))
  const read = await Promise.all(names.map(async (name) => JSON.parse(store.get(name) ?? "null")))
  length += JSON.stringify(read).length
}
process.stdout.write(`${length}\n`)
