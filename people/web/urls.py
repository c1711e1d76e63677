from django.urls import path

from people.web import account_views, teams, views

app_name = "people"
urlpatterns = [
    path("", views.home, name="home"),
    path("address/refuse/<str:key>/", views.refuse_address, name="refuse-address"),
    path("address/undo/<str:key>/", views.undo_address, name="address-undo"),
    path("theme/", views.choose_theme, name="theme"),
    path("settings/", views.own_settings, name="settings"),
    path("settings/download/", account_views.download, name="account-download"),
    path("settings/delete/", account_views.delete, name="account-delete"),
    path("settings/activity/", account_views.activity, name="activity"),
    path("settings/activity/sign-out/", account_views.sign_out, name="sign-out-elsewhere"),
    path("settings/tokens/new/", account_views.create_token, name="token-new"),
    path("settings/tokens/<uuid:token_id>/revoke/", account_views.revoke_token, name="token-revoke"),
    path("teams/", teams.team_list, name="teams"),
    path("teams/act/", teams.switch, name="act"),
    path("teams/join/<str:key>/", teams.join, name="team-join"),
    path("teams/invitations/<uuid:invitation_id>/accept/", teams.accept, name="invitation-accept"),
    path("teams/<int:team_id>/", teams.team, name="team"),
    path("teams/<int:team_id>/members/<uuid:member_id>/", teams.change_member, name="team-member"),
    path("teams/<int:team_id>/invitations/<uuid:invitation_id>/", teams.withdraw, name="invitation-withdraw"),
    path("teams/<int:team_id>/on-call/", teams.on_call, name="team-on-call"),
    path("teams/<int:team_id>/leave/", teams.leave, name="team-leave"),
    path("teams/<int:team_id>/delete/", teams.delete, name="team-delete"),
]
