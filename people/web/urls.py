from django.urls import path

from people.web import account_views, views

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
]
