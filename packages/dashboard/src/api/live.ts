/**
 * Live updates. The server sends one stream of hints per instance, and each hint refetches the queries that it affects. Query keys
 * start with [instanceId, topic]. While the stream is not open, all active queries are polled every few seconds.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useLayoutEffect, useSyncExternalStore } from 'react';
import { queryText } from './client.js';
import { ALL_CHANGED, changeOf } from './live-changes.js';
import { reportReachable } from './reachable.js';
import { RefreshScheduler } from './refresh-scheduler.js';

/**
 * State of the live updates. While `connected`, the server pushes changes. While `waiting`, the stream is unavailable and
 * queries are polled.
 */
export type LiveState = 'connecting' | 'connected' | 'waiting';

const REOPEN_MS = 3_000;
const POLL_INTERVAL_MS = 5_000;

let state: LiveState = 'connecting';
const listeners = new Set<() => void>();
function setLiveState(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const listener of listeners) listener();
}

export const useLiveState = (): LiveState =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );

/**
 * Keeps the pages of an instance up to date while they are visible. Only the layout may use it. A hidden page closes its stream
 * because browsers allow six connections per host: with seven open tabs the last one could not connect.
 */
export function useLive(instanceId: string): void {
  const client = useQueryClient();
  // A layout effect requests the stream before the effects of the page request its data. Data that is requested afterwards is
  // newer than the stream.
  useLayoutEffect(() => {
    const scheduler = new RefreshScheduler(client, instanceId);
    let source: EventSource | null = null;
    let reopenTimer: number | undefined;
    /** What may have changed unnoticed: before the stream first opens, what has been loaded; after it was closed, everything. */
    let missed: 'nothing' | 'loaded' | 'all' = document.hidden ? 'all' : 'loaded';
    const open = () => {
      if (document.hidden || source !== null) return;
      source = new EventSource(`/v2/live${queryText({ 'everstep-queue': instanceId })}`);
      source.onopen = () => {
        setLiveState('connected');
        reportReachable(true);
        if (missed === 'all') scheduler.add(ALL_CHANGED);
        else if (missed === 'loaded') scheduler.addLoaded();
        missed = 'nothing';
      };
      source.addEventListener('change', (event) => scheduler.add(changeOf(event.data)));
      source.onerror = () => {
        missed = 'all';
        setLiveState('waiting');
        // The browser reconnects automatically, except after a response that is not an event stream.
        if (source?.readyState !== EventSource.CLOSED) return;
        source = null;
        reopenTimer = window.setTimeout(open, REOPEN_MS);
      };
    };
    const close = () => {
      window.clearTimeout(reopenTimer);
      source?.close();
      source = null;
      missed = 'all';
      setLiveState('connecting');
    };
    open();
    const pollTimer = window.setInterval(() => {
      if (missed === 'nothing') return;
      missed = 'all';
      scheduler.add(ALL_CHANGED);
    }, POLL_INTERVAL_MS);
    const onVisible = () => {
      if (document.hidden) return close();
      open();
      scheduler.schedule();
    };
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      close();
      window.clearInterval(pollTimer);
      document.removeEventListener('visibilitychange', onVisible);
      scheduler.stop();
      // No more hints arrive, so the results can be out of date when the user returns to the instance.
      void client.invalidateQueries({ queryKey: [instanceId], refetchType: 'none' });
    };
  }, [client, instanceId]);
}
