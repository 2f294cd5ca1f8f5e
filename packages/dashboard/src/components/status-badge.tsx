/** A state in a word, with a sign and a colour: never by its colour alone. */
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons.js';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'quiet';

export interface StatusBadgeProps {
  readonly tone: Tone;
  readonly children: ReactNode;
  /** Instead of the sign of the tone. */
  readonly icon?: IconName;
}

const SIGNS: Readonly<Record<Tone, IconName>> = { good: 'check', warn: 'warning', bad: 'cross', info: 'play', quiet: 'dots' };

export function StatusBadge({ tone, children, icon }: StatusBadgeProps) {
  return (
    <span className="badge" data-tone={tone}>
      <Icon name={icon ?? SIGNS[tone]} />
      {children}
    </span>
  );
}
