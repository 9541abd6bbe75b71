"""Tests the embedded cluster with an unmodified client of PyPI: typed and dynamic, with tokens over TLS."""

import sys
import threading

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.python.example.com"},
    "spec": {
        "group": "python.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}}
                        },
                    }
                },
            }
        ],
    },
}


def status_of(call):
    """The HTTP status of a call that fails, or 200."""
    try:
        call()
        return 200
    except ApiException as error:
        return error.status


def equal(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}: {found!r} (must be {expected!r})")
    print(f"ok: {what}")


def typed(core, apps, namespace):
    core.create_namespace({"metadata": {"name": namespace}})
    made = core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}, "data": {"k": "ü"}})
    equal("a ConfigMap", made.data, {"k": "ü"})
    equal("a second one of the name", status_of(lambda: core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}})), 409)
    equal("a merge patch", core.patch_namespaced_config_map("a", namespace, {"data": {"l": "m"}}).data, {"k": "ü", "l": "m"})
    stale = core.api_client.sanitize_for_serialization(made)
    equal("an update of an old version", status_of(lambda: core.replace_namespaced_config_map("a", namespace, stale)), 409)
    equal("an unknown object", status_of(lambda: core.read_namespaced_config_map("none", namespace)), 404)
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    apps.create_namespaced_deployment(
        namespace,
        {"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}},
    )
    ready = watch.Watch()
    for event in ready.stream(apps.list_namespaced_deployment, namespace, timeout_seconds=30):
        if event["object"].status.ready_replicas == 2:
            ready.stop()
            break
    else:
        raise AssertionError("the Deployment is not ready")
    equal("its pods", len(core.list_namespaced_pod(namespace, label_selector="app=web").items), 2)


def watched(core, namespace):
    """A watch in another thread sees what the main thread does."""
    seen = []
    first = core.list_namespaced_config_map(namespace).metadata.resource_version
    stream = watch.Watch()

    def follow():
        for event in stream.stream(core.list_namespaced_config_map, namespace, resource_version=first, timeout_seconds=20):
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                stream.stop()

    thread = threading.Thread(target=follow)
    thread.start()
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "b"}})
    core.patch_namespaced_config_map("b", namespace, {"data": {"x": "y"}})
    core.delete_namespaced_config_map("b", namespace)
    thread.join()
    equal("a watch", seen, [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")])


def custom(api, namespace):
    utils.create_from_dict(api, CRD)
    objects = client.CustomObjectsApi(api)
    where = ("python.example.com", "v1", namespace, "widgets")
    for _ in range(100):
        if status_of(lambda: objects.list_namespaced_custom_object(*where)) == 200:
            break
    body = {"apiVersion": "python.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    objects.create_namespaced_custom_object(*where, body)
    equal("a value that the schema rejects", status_of(lambda: objects.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 6}})), 422)
    found = dynamic.DynamicClient(api)
    maps = found.resources.get(api_version="v1", kind="ConfigMap")
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}
    maps.server_side_apply(wanted, namespace=namespace, field_manager="one")
    wanted["data"]["a"] = "2"
    equal("a conflict of server-side apply", status_of(lambda: maps.server_side_apply(wanted, namespace=namespace, field_manager="two")), 409)
    equal("forced", maps.server_side_apply(wanted, namespace=namespace, field_manager="two", force_conflicts=True).data.a, "2")
    widgets = found.resources.get(api_version="python.example.com/v1", kind="Widget")
    equal("a custom object", widgets.get(name="w", namespace=namespace).spec.size, 3)


def users(core, namespace, ann):
    """Ann has a token and no permission, until a RoleBinding gives her one."""
    pods = client.CoreV1Api(ann)
    equal("pods without a permission", status_of(lambda: pods.list_namespaced_pod(namespace)), 403)
    rbac = client.RbacAuthorizationV1Api(core.api_client)
    rbac.create_namespaced_role_binding(
        namespace,
        {
            "metadata": {"name": "ann"},
            "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
        },
    )
    equal("pods with a permission", status_of(lambda: pods.list_namespaced_pod(namespace)), 200)
    review = client.AuthorizationV1Api(ann).create_self_subject_access_review(
        {"spec": {"resourceAttributes": {"namespace": namespace, "verb": "delete", "resource": "pods"}}}
    )
    equal("the review of a permission", review.status.allowed, False)
    account = core.create_namespaced_service_account_token("default", namespace, {"spec": {"audiences": [], "expirationSeconds": 3600}})
    me = client.AuthenticationV1Api(with_token(core, account.status.token)).create_self_subject_review({})
    equal("the user of a ServiceAccount", me.status.user_info.username, f"system:serviceaccount:{namespace}:default")
    made_up = client.CoreV1Api(with_token(core, "made-up"))
    equal("a made-up token", status_of(made_up.list_namespace), 401)


def with_token(core, token):
    """A client of the same server with another token."""
    own = client.Configuration()
    own.host = core.api_client.configuration.host
    own.ssl_ca_cert = core.api_client.configuration.ssl_ca_cert
    return client.ApiClient(own, header_name="Authorization", header_value=f"Bearer {token}")


def main(context):
    config.load_kube_config(context=context)
    core = client.CoreV1Api()
    namespace = "python"
    typed(core, client.AppsV1Api(), namespace)
    watched(core, namespace)
    custom(core.api_client, namespace)
    users(core, namespace, config.new_client_from_config(context=f"{context}-ann"))
    core.delete_namespace(namespace)
    print("passed")


main(sys.argv[1])
