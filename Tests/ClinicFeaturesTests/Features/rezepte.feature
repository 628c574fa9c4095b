# language: de
@frozen:2018-10-08T09:20Z
Funktionalität: Rezepte
  Was die Hausärztin verschreibt, steht in der App.

  Szenario: Eine neue Patientin hat keine Rezepte
    Wenn sie ihre Rezepte ansieht
    Dann liest sie "you have no prescriptions"

  Szenario: Die Ärztin hat etwas verschrieben
    Angenommen die Ärztin "Dr. Ito" hat verschrieben:
      | Mittel      | Dosis |
      | amoxicillin | 500   |
      | ibuprofen   | 400   |
    Wenn sie ihre Rezepte ansieht
    Dann liest sie "amoxicillin, 500 mg, from Dr. Ito"
    Und liest sie "ibuprofen, 400 mg, from Dr. Ito"
    Und die App hat "GET /v1/prescriptions" 1 Mal abgefragt

  @manual @fault:status=503,path=/v1/prescriptions,nth=1
  Szenario: Die Klinik ist kurz nicht erreichbar
    Wenn sie ihre Rezepte ansieht
    Dann liest sie "trying again in 5 seconds"
    Wenn 5 Sekunden vergehen
    Dann liest sie "you have no prescriptions"

  Szenariogrundriss: Die Registrierung scheitert mit <Status>
    Angenommen die Klinik antwortet immer mit <Status>
    Wenn sie ihre Rezepte ansieht
    Dann endet die App mit 1
    Und die App hat "POST /v1/users" 1 Mal abgefragt

    Beispiele:
      | Status |
      | 500    |
      | 404    |
