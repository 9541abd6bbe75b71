/**
 * The cluster for tests that can run on both clusters. The test command sets the lane. A file that runs by itself uses the real cluster
 * if the environment configures one.
 */

/** The embedded cluster, or a real kube-apiserver. */
export type Lane = "embedded" | "real"

/** True if the environment configures a real control plane. */
export const realIsNamed: boolean =
  process.env.USE_EXISTING_CLUSTER === "true" ||
  ["KUBEBUILDER_ASSETS", "TEST_ASSET_KUBE_APISERVER"].some((name) => (process.env[name] ?? "") !== "")

/** The lane of this process. */
export const current: Lane =
  process.env.HOMEOSTAT_TEST_LANE === "embedded" || (process.env.HOMEOSTAT_TEST_LANE !== "real" && !realIsNamed)
    ? "embedded"
    : "real"
