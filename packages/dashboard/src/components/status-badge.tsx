/** A state as text with an icon and a color. Color alone never conveys a state. */
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons.js';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'quiet';

export interface StatusBadgeProps {
  readonly tone: Tone;
  readonly children: ReactNode;
  /** Replaces the icon of the tone. */
  readonly icon?: IconName;
}

const ICONS: Readonly<Record<Tone, IconName>> = { good: 'check', warn: 'warning', bad: 'cross', info: 'play', quiet: 'dots' };

export function StatusBadge({ tone, children, icon }: StatusBadgeProps) {
  return (
    <span className="badge" data-tone={tone}>
      <Icon name={icon ?? ICONS[tone]} />
      {children}
    </span>
  );
}
