/**
 * On which cluster a test runs that can run on both. The test command says it; a file that is run by itself takes the real one
 * where one is named.
 */

/** The embedded cluster, or a real kube-apiserver. */
export type Lane = "embedded" | "real"

/** Whether the environment names a real control plane. */
export const realIsNamed: boolean =
  process.env.USE_EXISTING_CLUSTER === "true" ||
  ["KUBEBUILDER_ASSETS", "TEST_ASSET_KUBE_APISERVER"].some((name) => (process.env[name] ?? "") !== "")

/** The lane of this process. */
export const current: Lane =
  process.env.HOMEOSTAT_TEST_LANE === "embedded" || (process.env.HOMEOSTAT_TEST_LANE !== "real" && !realIsNamed)
    ? "embedded"
    : "real"
