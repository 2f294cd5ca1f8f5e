/** User menu: the logged-in user, the theme and logout. */
import { Menu } from '@base-ui/react/menu';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { logOut, logOutEverywhere, sessionQuery, useSession } from '../api/session.js';
import { Icon, type IconName } from '../components/icons.js';
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
  const leave = async (endSession: typeof logOut) => {
    await endSession();
    client.clear();
    client.setQueryData(sessionQuery.queryKey, null);
    if (session.logout_url !== undefined) return window.location.assign(session.logout_url);
    void navigate({ to: '/login' });
  };
  return (
    <Menu.Root>
      <Menu.Trigger className="button button-quiet user-menu">
        <span className="clip">
          <span className="visually-hidden">Logged in as </span>
          {session.user.email}
        </span>
        <Icon name="up" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="start" className="tooltip-positioner">
          <Menu.Popup className="popup">
            <Menu.Group>
              <Menu.GroupLabel className="nav-heading">Theme</Menu.GroupLabel>
              <Menu.RadioGroup value={theme} onValueChange={(next: Theme) => setTheme(next)}>
                {THEMES.map((option) => (
                  <Menu.RadioItem key={option} value={option} className="popup-item">
                    <Icon name={THEME_OPTIONS[option].icon} />
                    <span>{THEME_OPTIONS[option].text}</span>
                    <Menu.RadioItemIndicator className="popup-check">
                      <Icon name="check" />
                    </Menu.RadioItemIndicator>
                  </Menu.RadioItem>
                ))}
              </Menu.RadioGroup>
            </Menu.Group>
            <Menu.Separator className="popup-separator" />
            <Menu.LinkItem className="popup-item" href="/docs" target="_blank" rel="noreferrer">
              <Icon name="info" />
              API reference
            </Menu.LinkItem>
            <Menu.Separator className="popup-separator" />
            <Menu.Item className="popup-item" onClick={() => void leave(logOut)}>
              <Icon name="leave" />
              Log out
            </Menu.Item>
            <Menu.Item className="popup-item" onClick={() => void leave(logOutEverywhere)}>
              <Icon name="leave" />
              Log out everywhere
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
