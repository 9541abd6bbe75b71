//! The types of the CRD that `homeostat crd` prints: no schema is derived here.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "apps.kubedojo.io",
    version = "v1beta1",
    kind = "WebApp",
    namespaced,
    status = "WebAppStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct WebAppSpec {
    pub image: String,
    #[serde(default)]
    pub replicas: i32,
    #[serde(default)]
    pub port: i32,
}

/// The observed state.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebAppStatus {
    pub observed_generation: i64,
    pub phase: String,
    pub replicas: i32,
    pub updated_replicas: i32,
    pub ready_replicas: i32,
    pub available_replicas: i32,
    pub selector: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
