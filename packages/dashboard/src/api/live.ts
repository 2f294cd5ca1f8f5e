/**
 * One stream of hints per instance: what has changed is asked for again. The keys of queries say what they are about:
 * [queueId, topic, ...]. Where the stream cannot be had, everything that is watched is asked for again every few seconds.
 */
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { LiveTopic } from '../../../everstep/src/contract/live.js';
import { queryText } from './client.js';
import { tellAnswered } from './reachable.js';

/** What hints are about; the same as in the contract, of which the pages take types alone. */
export const TOPICS = [
  'runs',
  'dlq',
  'repairs',
  'flow-control',
  'schedules',
  'queues',
  'settings',
] as const satisfies readonly LiveTopic[];
export type Topic = LiveTopic;

/** connected: changes come by themselves; waiting: the stream is away, and pages are asked for again now and then. */
export type LiveState = 'connecting' | 'connected' | 'waiting';

const REOPEN_MS = 3_000;
const ASK_AGAIN_MS = 5_000;
/** Lists are asked for at most this often, whatever happens: a busy instance tells of changes four times a second. */
const LEAST_INTERVAL_MS = 1_000;

let state: LiveState = 'connecting';
const listeners = new Set<() => void>();
function become(next: LiveState): void {
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

const isTopic = (topic: unknown): topic is Topic => TOPICS.some((known) => known === topic);

/** The topics of a `change`; all of them when it cannot be read: asking too often does no harm. */
export function topicsOf(data: string): readonly Topic[] {
  try {
    const told: unknown = JSON.parse(data);
    if (typeof told === 'object' && told !== null && 'topics' in told && Array.isArray(told.topics))
      return told.topics.filter(isTopic);
  } catch {
    // Below.
  }
  return TOPICS;
}

/** Asks for what changed, one turn for all hints of a second. A page in the background is asked for when it is looked at. */
class Refreshing {
  private readonly client: QueryClient;
  private readonly queueId: string;
  private readonly due = new Set<Topic>();
  private timer: number | undefined;
  private lastMs = Number.NEGATIVE_INFINITY;

  constructor(client: QueryClient, queueId: string) {
    this.client = client;
    this.queueId = queueId;
  }

  add(topics: readonly Topic[]): void {
    for (const topic of topics) this.due.add(topic);
    this.plan();
  }

  plan(): void {
    if (this.due.size === 0 || this.timer !== undefined || document.hidden) return;
    const waitMs = Math.max(0, this.lastMs + LEAST_INTERVAL_MS - performance.now());
    this.timer = window.setTimeout(() => {
      this.timer = undefined;
      this.lastMs = performance.now();
      const topics = [...this.due];
      this.due.clear();
      for (const topic of topics) void this.client.invalidateQueries({ queryKey: [this.queueId, topic] });
    }, waitMs);
  }

  stop(): void {
    window.clearTimeout(this.timer);
    this.due.clear();
  }
}

/**
 * Keeps the pages of an instance fresh while they are shown. To be used once, by the layout. A page in the background has no
 * stream: a browser has six connections to a host, and a seventh tab would get none.
 */
export function useLive(queueId: string): void {
  const client = useQueryClient();
  useEffect(() => {
    const refreshing = new Refreshing(client, queueId);
    let source: EventSource | null = null;
    let reopen: number | undefined;
    let wasAway = document.hidden;
    const open = () => {
      if (document.hidden || source !== null) return;
      source = new EventSource(`/v2/live${queryText({ 'everstep-queue': queueId })}`);
      source.onopen = () => {
        become('connected');
        tellAnswered(true);
        // What happened while nobody told us.
        if (wasAway) refreshing.add(TOPICS);
        wasAway = false;
      };
      source.addEventListener('change', (event) => refreshing.add(topicsOf(event.data)));
      source.onerror = () => {
        wasAway = true;
        become('waiting');
        // The browser connects again by itself, except after an answer that is no stream.
        if (source?.readyState !== EventSource.CLOSED) return;
        source = null;
        reopen = window.setTimeout(open, REOPEN_MS);
      };
    };
    const close = () => {
      window.clearTimeout(reopen);
      source?.close();
      source = null;
      wasAway = true;
      become('connecting');
    };
    open();
    const polling = window.setInterval(() => {
      if (wasAway) refreshing.add(TOPICS);
    }, ASK_AGAIN_MS);
    const onVisible = () => {
      if (document.hidden) return close();
      open();
      refreshing.plan();
    };
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      close();
      window.clearInterval(polling);
      document.removeEventListener('visibilitychange', onVisible);
      refreshing.stop();
    };
  }, [client, queueId]);
}
