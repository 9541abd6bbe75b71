//! Tests the embedded cluster with an unmodified kube-rs: typed clients, server-side apply, a CRD and a controller.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    runtime::{
        Controller,
        controller::Action,
        wait::{await_condition, conditions},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "rust.example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus"
)]
struct WidgetSpec {
    text: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct WidgetStatus {
    copied: bool,
}

/// Applies a ConfigMap with the text of a Widget.
async fn reconcile(widget: Arc<Widget>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let namespace = widget.namespace().unwrap_or_default();
    let map = ConfigMap {
        metadata: kube::api::ObjectMeta {
            name: Some(widget.name_any()),
            owner_references: widget.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..Default::default()
        },
        data: Some(BTreeMap::from([("text".to_string(), widget.spec.text.clone())])),
        ..Default::default()
    };
    let apply = PatchParams::apply("widgets").force();
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace);
    maps.patch(&widget.name_any(), &apply, &Patch::Apply(&map)).await?;
    let widgets: Api<Widget> = Api::namespaced((*client).clone(), &namespace);
    let status = json!({ "status": { "copied": true } });
    widgets
        .patch_status(&widget.name_any(), &PatchParams::default(), &Patch::Merge(&status))
        .await?;
    Ok(Action::await_change())
}

fn code<T>(result: Result<T, kube::Error>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(other) => panic!("no answer: {other}"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::try_default().await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = Namespace {
        metadata: kube::api::ObjectMeta {
            name: Some("rust".into()),
            ..Default::default()
        },
        ..Default::default()
    };
    namespaces.create(&PostParams::default(), &namespace).await?;
    assert_eq!(code(namespaces.create(&PostParams::default(), &namespace).await), 409);

    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let apply = PatchParams::apply("peer");
    crds.patch("widgets.rust.example.com", &apply, &Patch::Apply(Widget::crd()))
        .await?;
    timeout(
        Duration::from_secs(20),
        await_condition(crds, "widgets.rust.example.com", conditions::is_crd_established()),
    )
    .await??;

    let widgets: Api<Widget> = Api::namespaced(client.clone(), "rust");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "rust");
    let controller = Controller::new(widgets.clone(), watcher::Config::default())
        .owns(maps.clone(), watcher::Config::default())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(100)),
            Arc::new(client.clone()),
        )
        .for_each(|_| async {});
    let running = tokio::spawn(controller);

    for n in 0..20 {
        let widget = Widget::new(&format!("w{n}"), WidgetSpec { text: "a".into() });
        widgets.create(&PostParams::default(), &widget).await?;
    }
    let copied = |obj: Option<&Widget>| obj.and_then(|w| w.status.as_ref()).is_some_and(|s| s.copied);
    for n in 0..20 {
        timeout(
            Duration::from_secs(20),
            await_condition(widgets.clone(), &format!("w{n}"), copied),
        )
        .await??;
    }
    assert_eq!(maps.get("w3").await?.data.unwrap_or_default()["text"], "a");
    // The controller applies a deleted ConfigMap again, and the text of a changed Widget.
    maps.delete("w3", &DeleteParams::default()).await?;
    widgets
        .patch(
            "w4",
            &PatchParams::default(),
            &Patch::Merge(json!({ "spec": { "text": "b" } })),
        )
        .await?;
    let has = |text: &'static str| {
        move |obj: Option<&ConfigMap>| obj.and_then(|m| m.data.as_ref()).is_some_and(|d| d["text"] == text)
    };
    timeout(Duration::from_secs(20), await_condition(maps.clone(), "w3", has("a"))).await??;
    timeout(Duration::from_secs(20), await_condition(maps.clone(), "w4", has("b"))).await??;

    let mut stale = maps.get("w5").await?;
    let other = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "text": "c" } });
    assert_eq!(
        code(
            maps.patch("w5", &PatchParams::apply("other"), &Patch::Apply(&other))
                .await
        ),
        409
    );
    maps.patch(
        "w5",
        &PatchParams::default(),
        &Patch::Merge(json!({ "data": { "more": "d" } })),
    )
    .await?;
    stale.data = None;
    assert_eq!(code(maps.replace("w5", &PostParams::default(), &stale).await), 409);
    assert_eq!(
        code(
            widgets
                .patch(
                    "w6",
                    &PatchParams::default(),
                    &Patch::Merge(json!({ "spec": { "text": 7 } }))
                )
                .await
        ),
        422
    );
    assert_eq!(code(maps.get("none").await), 404);
    let page = maps.list(&ListParams::default().limit(7)).await?;
    assert_eq!((page.items.len(), page.metadata.remaining_item_count), (7, Some(14)));

    running.abort();
    // The garbage collector deletes the ConfigMap of a deleted Widget.
    let uid = maps.get("w7").await?.uid().unwrap_or_default();
    widgets.delete("w7", &DeleteParams::default()).await?;
    timeout(
        Duration::from_secs(20),
        await_condition(maps, "w7", conditions::is_deleted(&uid)),
    )
    .await??;
    namespaces.delete("rust", &DeleteParams::default()).await?;
    println!("passed");
    Ok(())
}
