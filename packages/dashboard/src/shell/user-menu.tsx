/** User menu: the signed-in user, the theme and signing out. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { sessionQuery, signOut, signOutEverywhere, useSession } from '../api/session.js';
import { Icon, type IconName } from '../components/icons.js';
import { MenuButton } from '../components/menus/menu-button.js';
import { toastFailure } from '../components/toasts.js';
import { setTheme, THEMES, type Theme, useTheme } from './theme.js';

const THEME_OPTIONS: Readonly<Record<Theme, { readonly text: string; readonly icon: IconName }>> = {
  system: { text: 'System', icon: 'screen' },
  light: { text: 'Light', icon: 'sun' },
  dark: { text: 'Dark', icon: 'moon' },
};

export function UserMenu() {
  const session = useSession();
  const theme = useTheme();
  const client = useQueryClient();
  const navigate = useNavigate();
  const signOutWith = async (endSession: typeof signOut) => {
    const outcome = await endSession();
    // 401: the session has already ended.
    if (!outcome.ok && outcome.failure.status !== 401) return toastFailure(outcome.failure);
    client.clear();
    client.setQueryData(sessionQuery.queryKey, null);
    if (session.logout_url !== undefined) return window.location.assign(session.logout_url);
    void navigate({ to: '/login' });
  };
  return (
    <MenuButton
      className="button button-quiet user-menu"
      align="start"
      sections={[
        {
          heading: 'Theme',
          entries: THEMES.map((option) => ({
            ...THEME_OPTIONS[option],
            selected: option === theme,
            onSelect: () => setTheme(option),
          })),
        },
        { entries: [{ text: 'API reference', icon: 'info', href: '/docs' }] },
        {
          entries: [
            { text: 'Sign out', icon: 'leave', onSelect: () => void signOutWith(signOut) },
            { text: 'Sign out everywhere', icon: 'leave', onSelect: () => void signOutWith(signOutEverywhere) },
          ],
        },
      ]}
    >
      <span className="clip">
        <span className="visually-hidden">Signed in as </span>
        {session.user.email}
      </span>
      <Icon name="up" />
    </MenuButton>
  );
}
