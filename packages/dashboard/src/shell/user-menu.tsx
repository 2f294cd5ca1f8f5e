/** User menu: the logged-in user, the theme and logout. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { logOut, logOutEverywhere, sessionQuery, useSession } from '../api/session.js';
import { Icon, type IconName } from '../components/icons.js';
import { MenuButton } from '../components/menus/menu-button.js';
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
  const logOutWith = async (endSession: typeof logOut) => {
    await endSession();
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
            { text: 'Log out', icon: 'leave', onSelect: () => void logOutWith(logOut) },
            { text: 'Log out everywhere', icon: 'leave', onSelect: () => void logOutWith(logOutEverywhere) },
          ],
        },
      ]}
    >
      <span className="clip">
        <span className="visually-hidden">Logged in as </span>
        {session.user.email}
      </span>
      <Icon name="up" />
    </MenuButton>
  );
}
