/** When this window last changed something itself: what its user did is shown at once, what others do is counted first. */
const changedAt = new Map<string, number>();

const keyOf = (queueId: string, topic: string): string => `${queueId} ${topic}`;

export function noteOwnChange(queueId: string, topics: readonly string[]): void {
  for (const topic of topics) changedAt.set(keyOf(queueId, topic), Date.now());
}

/** Unix ms; 0: never. */
export const lastOwnChange = (queueId: string, topic: string): number => changedAt.get(keyOf(queueId, topic)) ?? 0;
