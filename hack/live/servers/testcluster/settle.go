package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// settle says of every workload that it is as it should be, since there are no
// nodes on which it could be: a Kustomization that waits for it goes on. No
// ReplicaSet or Pod is made.
func settle(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) error {
	apps := shared.Apps().V1()
	for informer, update := range map[cache.SharedIndexInformer]func(any){
		apps.Deployments().Informer():  func(o any) { settleDeployment(ctx, client, o) },
		apps.StatefulSets().Informer(): func(o any) { settleStatefulSet(ctx, client, o) },
		apps.DaemonSets().Informer():   func(o any) { settleDaemonSet(ctx, client, o) },
	} {
		// An update that fails is met again: it has changed meanwhile.
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    update,
			UpdateFunc: func(_, now any) { update(now) },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func settleDeployment(ctx context.Context, client kubernetes.Interface, o any) {
	d, ok := o.(*appsv1.Deployment)
	if !ok || d.Status.ObservedGeneration == d.Generation {
		return
	}
	d = d.DeepCopy()
	n := replicas(d.Spec.Replicas)
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	_, _ = client.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
}

func settleStatefulSet(ctx context.Context, client kubernetes.Interface, o any) {
	s, ok := o.(*appsv1.StatefulSet)
	if !ok || s.Status.ObservedGeneration == s.Generation {
		return
	}
	s = s.DeepCopy()
	n := replicas(s.Spec.Replicas)
	s.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: n, UpdatedReplicas: n, CurrentReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		CurrentRevision: s.Name + "-1", UpdateRevision: s.Name + "-1",
	}
	_, _ = client.AppsV1().StatefulSets(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{})
}

func settleDaemonSet(ctx context.Context, client kubernetes.Interface, o any) {
	d, ok := o.(*appsv1.DaemonSet)
	if !ok || d.Status.ObservedGeneration == d.Generation {
		return
	}
	d = d.DeepCopy()
	d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation}
	_, _ = client.AppsV1().DaemonSets(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
