/** Remembers when this window last changed something, so that a user's own changes are shown instead of counted as new. */
const changedAt = new Map<string, number>();

const keyOf = (instanceId: string, topic: string): string => `${instanceId} ${topic}`;

/** Records that this window has changed these topics now. */
export function recordOwnChange(instanceId: string, topics: readonly string[]): void {
  for (const topic of topics) changedAt.set(keyOf(instanceId, topic), Date.now());
}

/** Returns when this window last changed the topic, Unix ms; 0 if never. */
export const lastOwnChange = (instanceId: string, topic: string): number => changedAt.get(keyOf(instanceId, topic)) ?? 0;
